package imports

import (
	"os"
	"slices"
	"testing"

	"github.com/foldwatch/foldwatch/chunker"
)

// What pages, styles, components, modules and makefiles name by path is found;
// what lies elsewhere, or is no path, is not.
func TestResolvePaths(t *testing.T) {
	files := NewFiles([]string{
		"site/terms.html", "site/css/site.css", "site/css/print.css", "site/js/menu.js", "site/js/track.js", "assets/logo.css", "site/styles/_mixins.scss", "site/styles/app.scss",
		"infra/main.tf", "infra/modules/network/vars.tf", "infra/modules/network/main.tf", "infra/modules/store/bucket.tf", "terraform-aws-modules/route53/aws/main.tf",
		"Makefile", "config.mk", "sub/Makefile", "sub/rules.mk", "build/common.mk",
		"web/src/parts/Cart.vue", "web/src/parts/PriceTag.vue", "web/src/types/order.ts", "web/src/stores/cart.ts", "web/src/lib/timing.ts", "web/src/parts/search.css",
	}, nil)
	for _, tc := range []struct {
		from, language string
		imports        []string
		want           []string
	}{
		{"site/terms.html", "html", []string{"css/site.css?v=3", "/assets/logo.css", "./js/track.js", "https://cdn.example.com/js/menu.js", "//cdn.example.com/css/print.css", "data:text/css,a", "../../etc/passwd"}, []string{"site/css/site.css", "assets/logo.css", "site/js/track.js"}},
		{"site/css/site.css", "css", []string{"print.css", "http://example.com/print.css", "missing.css"}, []string{"site/css/print.css"}},
		{"site/styles/app.scss", "scss", []string{"mixins"}, []string{"site/styles/_mixins.scss"}},
		{"infra/main.tf", "hcl", []string{"./modules/network", "./modules/store", "terraform-aws-modules/route53/aws", "git::https://example.com/x.git", "../outside"}, []string{"infra/modules/network/main.tf", "infra/modules/store/bucket.tf"}},
		{"sub/Makefile", "make", []string{"rules.mk", "build/common.mk", "../config.mk", "$(TOP)/config.mk", "/usr/share/config.mk", "*.mk"}, []string{"sub/rules.mk", "build/common.mk", "config.mk"}},
		{"web/src/parts/Cart.vue", "vue", []string{"vue", "../types/order", "@/stores/cart", "./PriceTag.vue"}, []string{"web/src/types/order.ts", "web/src/stores/cart.ts", "web/src/parts/PriceTag.vue"}},
		{"web/src/parts/Cart.vue", "svelte", []string{"svelte", "$lib/timing", "./search.css"}, []string{"web/src/lib/timing.ts", "web/src/parts/search.css"}},
	} {
		if got := resolveAll(files, tc.from, tc.language, tc.imports); !slices.Equal(got, tc.want) {
			t.Errorf("resolveAll(%s, %s, %q) =\n%q, want\n%q", tc.from, tc.language, tc.imports, got, tc.want)
		}
	}
}

// The imports that are cut out of the samples of the chunker lead to the files
// they mean.
func TestCutImportsResolve(t *testing.T) {
	for _, tc := range []struct{ sample, at, have, want string }{
		{"css/sample.css", "web/shop.css", "web/base/reset.css", "web/base/reset.css"},
		{"hcl/main.tf", "infra/main.tf", "infra/modules/network/main.tf", "infra/modules/network/main.tf"},
		{"make/Makefile", "Makefile", "config.mk", "config.mk"},
		{"html/page.html", "site/page.html", "site/js/track.js", "site/js/track.js"},
		{"vue/CartPanel.vue", "web/src/parts/CartPanel.vue", "web/src/types/order.ts", "web/src/types/order.ts"},
		{"svelte/Search.svelte", "web/src/routes/Search.svelte", "web/src/lib/timing.ts", "web/src/lib/timing.ts"},
	} {
		src, err := os.ReadFile("../../../chunker/testdata/" + tc.sample)
		if err != nil {
			t.Fatal(err)
		}
		r := chunker.Cut(tc.at, src, chunker.Options{})
		if r.Strategy != "syntax" {
			continue // built without parsers
		}
		got := resolveAll(NewFiles([]string{tc.at, tc.have}, nil), tc.at, r.Language, r.Imports)
		if !slices.Equal(got, []string{tc.want}) {
			t.Errorf("%s: %q resolve to %q, want %q", tc.sample, r.Imports, got, tc.want)
		}
	}
}
