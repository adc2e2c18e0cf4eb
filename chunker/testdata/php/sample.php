<?php
/**
 * Keeps the carts of a shop.
 *
 * @package Shop
 * @license MIT is named here in a tag only
 */

declare(strict_types=1);

namespace Acme\Shop\Cart;

use Acme\Shop\Catalog\Product;
use Acme\Shop\{Money, Tax\Rate as VatRate};
use Psr\Log\LoggerInterface as Log;
use function Acme\Shop\format;
use const Acme\Shop\LIMIT;

require_once __DIR__ . '/../bootstrap.php';
include 'legacy/helpers.inc.php';
require dirname(__FILE__) . "/config.php";

const VERSION = '1.2';

/**
 * What can be priced.
 */
interface Priced
{
    /** The price with tax. */
    public function price(): Money;

    public const CURRENCY = 'EUR';
}

/** Counts events. */
trait Counts
{
    private int $count = 0;

    protected function count(string $event): void
    {
        $this->count++;
    }
}

/** State of a cart. */
#[Serializable]
enum State: string
{
    case Open = 'open';
    case Paid = 'paid';

    public static function parse(string $s): self
    {
        return self::from(strtolower($s));
    }
}

/**
 * A cart of one customer.
 *
 * It is cheap to make.
 */
#[Entity(table: 'carts')]
final class Cart extends Model implements Priced
{
    use Counts;

    /** @var array<int, Product> */
    private array $lines = [];

    public function __construct(
        private readonly string $owner,
        private ?Log $log = null,
    ) {
    }

    /**
     * Adds a product.
     *
     * @param Product $p what to add
     */
    #[Pure]
    public function add(Product $p, int $n = 1): static
    {
        for ($i = 0; $i < $n; $i++) {
            $this->lines[] = $p;
        }
        return $this;
    }

    // The price of everything.
    public function price(): Money
    {
        $sum = array_reduce($this->lines, function ($sum, $p) {
            return $sum->plus($p->price());
        }, Money::zero());

        return $sum;
    }

    abstract protected static function &load(int $id): self;
}

/**
 * Opens a cart.
 */
function open(string $owner): Cart
{
    return new Cart($owner);
}

if (!function_exists('cart_total')) {
    # Total as text.
    function cart_total(Cart $c): string
    {
        return format($c->price());
    }
}

$handler = new class extends Handler {
    public function handle($request)
    {
        return null;
    }
};
?>
<html>
<body>
<h1><?= $title ?></h1>
<?php foreach ($carts as $cart): ?>
  <p><?= cart_total($cart) ?></p>
<?php endforeach; ?>
</body>
</html>
