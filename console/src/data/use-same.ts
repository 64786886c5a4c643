import { useRef } from 'react';

/** The previous value as long as the new one is equal, so that polling does not cause renderings. */
export function useSame<Value>(value: Value): Value {
  const kept = useRef(value);
  if (kept.current !== value && JSON.stringify(kept.current) !== JSON.stringify(value)) kept.current = value;
  return kept.current;
}
