import { useEffect } from 'react';
import { useReadable } from '../data/readable.ts';
import { useData } from '../data/use-data.ts';

/** `(2) Sessions – Telltale`: in front, how many reviews wait for a person. */
export const titleOf = (page: string, waiting: number): string =>
  `${waiting > 0 ? `(${waiting}) ` : ''}${page} – Telltale`;

export function useTitle(page: string): void {
  const { open } = useReadable(useData().reviews);
  const waiting = open.length;
  useEffect(() => {
    document.title = titleOf(page, waiting);
  }, [page, waiting]);
}
