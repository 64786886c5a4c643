import { useCallback, useState } from 'react';
import { useData } from './use-data.ts';

/** Like `useState`, but the state survives leaving the page and coming back. It is gone when the tab is closed. */
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
