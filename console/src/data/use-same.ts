import { useRef } from 'react';

/** The value before, as long as the new one says the same: what is read every other second is worth no rendering then. */
export function useSame<Value>(value: Value): Value {
  const kept = useRef(value);
  if (kept.current !== value && JSON.stringify(kept.current) !== JSON.stringify(value)) kept.current = value;
  return kept.current;
}
