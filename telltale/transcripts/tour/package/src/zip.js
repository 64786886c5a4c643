/** The first of each list, the second of each, and so on, as long as all have one. */
export const zip = (...lists) =>
  Array.from({ length: Math.min(...lists.map((list) => list.length)) }, (_, at) =>
    lists.map((list) => list[at]),
  );
