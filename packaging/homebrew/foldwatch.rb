class Foldwatch < Formula
  desc "Memory for your project and its agents, in git"
  homepage "https://github.com/foldwatch/foldwatch"
  url "{{.Release}}/{{.Source.Name}}"
  sha256 "{{.Source.SHA256}}"
  license "Apache-2.0"

  depends_on "go" => :build

  def install
    system "go", "build", *std_go_args(ldflags: "-s -w -X main.setVersion=#{version} -X main.setCommit={{.Commit}} -X main.setDate={{.Date}}"), "./cmd/foldwatch"
    generate_completions_from_executable(bin/"foldwatch", "completion")
    system bin/"foldwatch", "assets", buildpath/"assets", "--date", "{{.Date}}"
    man1.install Dir["assets/usr/share/man/man1/*.1"]
  end

  def caveats
    <<~EOS
      To have it start at every login, with what your shell's environment has:
        foldwatch service install
    EOS
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/foldwatch version")
  end
end
