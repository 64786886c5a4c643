/** Cuts a list into pieces of one size; the last one may be shorter. */
export const chunk = (list, size) =>
  Array.from({ length: Math.ceil(list.length / size) }, (_, at) => list.slice(at * size, (at + 1) * size));
