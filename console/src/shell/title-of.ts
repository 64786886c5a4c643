/** `(2) Sessions – Telltale`. The number is that of open reviews. */
export const titleOf = (page: string, waiting: number): string =>
  `${waiting > 0 ? `(${waiting}) ` : ''}${page} – Telltale`;
