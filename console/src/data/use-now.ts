import { useSyncExternalStore } from 'react';
import { useData } from './use-data.ts';

/** The time, updated once a second. All components share one timer, which stops when nobody uses it. */
export const useNow = (): number => {
  const { now } = useData();
  return useSyncExternalStore(now.subscribe, now.get);
};
