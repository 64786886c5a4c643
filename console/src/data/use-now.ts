import { useSyncExternalStore } from 'react';
import { useData } from './use-data.ts';

/** The time, looked at once a second; all who ask share one timer, which rests while nobody does. */
export const useNow = (): number => {
  const { now } = useData();
  return useSyncExternalStore(now.subscribe, now.get);
};
