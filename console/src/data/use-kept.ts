import { useCallback, useState } from 'react';
import { useData } from './use-data.ts';

/** As `useState`, but whoever leaves the page and comes back finds it as it was; gone with the tab. */
export function useKept<Value>(key: string, initial: Value): readonly [Value, (value: Value) => void] {
  const { kept } = useData();
  const [value, setValue] = useState<Value>(() => (kept.has(key) ? (kept.get(key) as Value) : initial));
  const keep = useCallback(
    (next: Value) => {
      kept.set(key, next);
      setValue(next);
    },
    [kept, key],
  );
  return [value, keep];
}
