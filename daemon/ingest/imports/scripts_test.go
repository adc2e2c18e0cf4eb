package imports

import (
	"os"
	"slices"
	"testing"

	"github.com/foldwatch/foldwatch/chunker"
)

// What scripts and the languages beside them name is found where their own rules
// look for it, and nowhere else.
func TestResolveScripts(t *testing.T) {
	files := NewFiles([]string{
		"bin/backup.sh", "bin/lib/log.sh", "lib/retry.sh", "common/net.bash", "root.sh",
		"gems/core/lib/core/user.rb", "gems/core/lib/core/errors.rb", "gems/core/lib/json.rb", "gems/core/spec/spec_helper.rb", "gems/core/spec/user_spec.rb", "gems/web/lib/web/app.rb", "Rakefile", "tasks/extra.rake", "a/lib/x/twice.rb", "b/lib/x/twice.rb",
		"shop/composer.json", "shop/src/Cart/Line.php", "shop/src/Product.php", "shop/tests/Cart/LineTest.php", "shop/web/index.php", "shop/bootstrap.php", "shop/legacy/helpers.inc.php", "shop/src/Log/LoggerInterface.php", "shop/vendor/x/composer.json", "shop/vendor/x/src/Y.php",
		"cs/Acme/Orders/Line.cs", "cs/Acme.Shared/Text.cs", "cs/Program.cs", "cs/System/Math.cs",
		"game/main.lua", "game/queue/heap.lua", "game/queue/init.lua", "game/lua/net/http.lua", "game/queue/test.lua", "game/config.lua",
		"z/src/main.zig", "z/src/options.zig", "z/src/time/clock.zig", "z/src/logo.png",
		"k/src/main/kotlin/com/acme/Path.kt", "k/src/main/kotlin/com/acme/util/Text.kt", "k/src/main/java/com/acme/Old.java", "s/src/acme/music/Note.scala", "s/src/acme/music/Player.scala",
	}, func(p string) []byte {
		return []byte(map[string]string{
			"shop/composer.json":          `{"autoload": {"psr-4": {"Acme\\Shop\\": "src/", "Acme\\": ["none", "src"]}}, "autoload-dev": {"psr-4": {"Acme\\Shop\\Tests\\": "tests"}}}`,
			"shop/vendor/x/composer.json": `{"autoload": {"psr-4": {"X\\": "src/"}}}`,
		}[p])
	})
	for _, tc := range []struct {
		from, language string
		imports        []string
		want           []string
	}{
		{"bin/backup.sh", "shell", []string{`$(dirname "$0")/lib/log.sh`, `${BASH_SOURCE%/*}/../common/net.bash`, `$ROOT/lib/retry.sh`, "./root.sh", "~/.backuprc", "/etc/profile", "$FILE", `$D/$NAME.sh`, "<(kubectl completion bash)", "../../out.sh"}, []string{"bin/lib/log.sh", "common/net.bash", "lib/retry.sh", "root.sh"}},
		{"gems/core/lib/core/user.rb", "ruby", []string{"./errors", "core/errors", "json", "set", "web/app", "x/twice", "../../../../outside", "tasks/extra.rake"}, []string{"gems/core/lib/core/errors.rb", "gems/core/lib/json.rb", "gems/web/lib/web/app.rb", "tasks/extra.rake"}},
		{"gems/core/spec/user_spec.rb", "ruby", []string{"spec_helper", "core/user"}, []string{"gems/core/spec/spec_helper.rb", "gems/core/lib/core/user.rb"}},
		{"gems/web/lib/web/app.rb", "ruby", []string{"json", "spec_helper"}, nil},
		{"shop/web/index.php", "php", []string{`Acme\Shop\Cart\Line`, `Acme\Shop\Product`, `Acme\Shop\Tests\Cart\LineTest`, `Psr\Log\LoggerInterface`, `X\Y`, `function Acme\Shop\Product`, `Product`, "./../bootstrap.php", "legacy/helpers.inc.php", "../../../etc/passwd.php"}, []string{"shop/src/Cart/Line.php", "shop/src/Product.php", "shop/tests/Cart/LineTest.php", "shop/bootstrap.php", "shop/legacy/helpers.inc.php"}},
		{"cs/Program.cs", "csharp", []string{"Acme.Orders", "Acme.Orders.Line", "Acme.Shared.Text", "System.Math", "Other.Orders.Line"}, []string{"cs/Acme/Orders/Line.cs", "cs/Acme.Shared/Text.cs"}},
		{"game/queue/test.lua", "lua", []string{"queue.heap", "queue", "net.http", "cjson", "config.lua", "..", ".x"}, []string{"game/queue/heap.lua", "game/queue/init.lua", "game/lua/net/http.lua"}},
		{"game/main.lua", "lua", []string{"config.lua", "heap"}, []string{"game/config.lua"}},
		{"z/src/main.zig", "zig", []string{"std", "options.zig", "time/clock.zig", "logo.png", "stdio.h", "../../../x.zig"}, []string{"z/src/options.zig", "z/src/time/clock.zig", "z/src/logo.png"}},
		{"k/src/main/kotlin/com/acme/Path.kt", "kotlin", []string{"com.acme.util.Text", "com.acme.util.Text.Companion.trim", "com.acme.Old", "kotlin.math.max", "com.acme.util.*"}, []string{"k/src/main/kotlin/com/acme/util/Text.kt", "k/src/main/java/com/acme/Old.java"}},
		{"s/src/acme/music/Player.scala", "scala", []string{"acme.music.Note", "acme.music.Note._", "scala.collection.mutable"}, []string{"s/src/acme/music/Note.scala"}},
	} {
		if got := resolveAll(files, tc.from, tc.language, tc.imports); !slices.Equal(got, tc.want) {
			t.Errorf("resolveAll(%s, %s, %q) =\n%q, want\n%q", tc.from, tc.language, tc.imports, got, tc.want)
		}
	}
}

// Without a composer.json a class is found by its namespace only where two
// folders, or all of it, agree.
func TestResolvePHPByFolders(t *testing.T) {
	files := NewFiles([]string{"src/Acme/Shop/Cart.php", "lib/Log/LoggerInterface.php", "a/Shop/Cart/Line.php", "b/Shop/Cart/Line.php", "Top/One.php"}, nil)
	for name, want := range map[string]string{
		`Acme\Shop\Cart`:          "src/Acme/Shop/Cart.php",
		`Vendor\Acme\Shop\Cart`:   "src/Acme/Shop/Cart.php",
		`Psr\Log\LoggerInterface`: "",
		`Acme\Shop\Cart\Line`:     "",
		`Top\One`:                 "Top/One.php",
		`Other\One`:               "",
	} {
		if got, _ := files.Resolve("x.php", "php", name); got != want {
			t.Errorf("Resolve(%s) = %q, want %q", name, got, want)
		}
	}
}

// The imports that are cut out of the samples of the chunker lead to the files
// they mean.
func TestCutScriptsResolve(t *testing.T) {
	for _, tc := range []struct {
		sample, at string
		have       []string
	}{
		{"shell/sample.sh", "bin/sample.sh", []string{"bin/lib/log.sh", "bin/lib/retry.sh", "common/net.bash"}},
		{"ruby/sample.rb", "lib/bank.rb", []string{"lib/errors.rb", "shared/money.rb", "tasks/extra.rake", "lib/bank/ledger.rb"}},
		{"php/sample.php", "a/src/Cart/sample.php", []string{"a/lib/Shop/Catalog/Product.php", "a/src/bootstrap.php", "a/src/Cart/config.php", "a/src/Cart/legacy/helpers.inc.php"}},
		{"lua/sample.lua", "queue/sample.lua", []string{"queue/heap.lua", "queue/log.lua", "queue/patches.lua", "queue/config.lua"}},
		{"zig/sample.zig", "src/sample.zig", []string{"src/time/clock.zig", "src/options.zig", "src/compat.zig"}},
		{"kotlin/Sample.kt", "src/com/acme/users/Sample.kt", []string{"src/com/acme/util/Text.kt"}},
		{"scala/Sample.scala", "src/acme/music/player/Sample.scala", []string{"src/acme/music/sheet/Note.scala", "src/acme/music/sheet/Rest.scala"}},
	} {
		src, err := os.ReadFile("../../../chunker/testdata/" + tc.sample)
		if err != nil {
			t.Fatal(err)
		}
		r := chunker.Cut(tc.at, src, chunker.Options{})
		if r.Strategy != "syntax" {
			continue // built without parsers
		}
		got := resolveAll(NewFiles(append([]string{tc.at}, tc.have...), nil), tc.at, r.Language, r.Imports)
		if !slices.Equal(got, tc.have) {
			t.Errorf("%s: %q resolve to %q, want %q", tc.sample, r.Imports, got, tc.have)
		}
	}
}
