import { createContext, useContext } from 'react';
import type { ConsoleData } from './console-data.ts';

export const DataContext = createContext<ConsoleData | null>(null);

/** The data that the pages share: the client, the live lists, the connection. */
export function useData(): ConsoleData {
  const data = useContext(DataContext);
  if (data === null) throw new Error('useData stands outside of DataProvider.');
  return data;
}
