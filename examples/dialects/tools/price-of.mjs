const PRICES = {
  'mooring rope': { price: 4.2, unit: 'metre' },
  'anchor lamp': { price: 61.5, unit: 'piece' },
};

/** @param {{ item: string }} input */
export function run({ item }) {
  const found = Object.entries(PRICES).find(([name]) => name === item);
  if (found === undefined) throw new Error(`we do not stock "${item}"`);
  return { item, ...found[1] };
}
