import { useEffect } from 'react';
import { useReadable } from '../data/readable.ts';
import { useData } from '../data/use-data.ts';
import { titleOf } from './title-of.ts';

export function useTitle(page: string): void {
  const { open } = useReadable(useData().reviews);
  const waiting = open.length;
  useEffect(() => {
    document.title = titleOf(page, waiting);
  }, [page, waiting]);
}
