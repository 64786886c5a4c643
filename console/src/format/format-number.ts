/** At most three digits: `950`, `1.2k`, `34k`, `1.2M`. */
export function formatCount(count: number): string {
  for (const [unit, sign] of UNITS) {
    // A number that would round up to the next unit is shown in that unit.
    if (count < unit * 0.9995) continue;
    const many = count / unit;
    return `${many < 9.95 ? many.toFixed(1).replace(/\.0$/, '') : Math.round(many)}${sign}`;
  }
  return String(count);
}

const UNITS: readonly (readonly [number, string])[] = [
  [1e9, 'G'],
  [1e6, 'M'],
  [1e3, 'k'],
];

/** `12,345`. `toLocaleString` takes 50 times as long, and lists show many numbers. */
export const formatWhole = (count: number): string => String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');

/** `1 turn`, `3 turns`. */
export const plural = (count: number, one: string, many = `${one}s`): string =>
  `${formatWhole(count)} ${count === 1 ? one : many}`;

/** `1st`, `2nd`, `3rd`, `11th`. */
export function ordinal(count: number): string {
  const isTeen = Math.floor((count % 100) / 10) === 1;
  const sign = isTeen ? undefined : ['th', 'st', 'nd', 'rd'][count % 10];
  return `${count}${sign ?? 'th'}`;
}

/** `$0`, `< $0.0001`, `$0.0042`, `$0.12`, `$13.40`. */
export function formatCost(usd: number): string {
  if (usd <= 0) return '$0';
  if (usd < 0.0001) return '< $0.0001';
  return `$${usd.toFixed(usd < 0.1 ? 4 : 2)}`;
}
