/** `(2) Sessions – Telltale`: in front, how many reviews wait for a person. */
export const titleOf = (page: string, waiting: number): string =>
  `${waiting > 0 ? `(${waiting}) ` : ''}${page} – Telltale`;
