import { useEffect, useState } from 'react';

/** A slider that has not moved for this long is at rest. */
const RESTS_MS = 150;

/** A value that updates when the slider rests, for expensive work. It updates at once with `isAtOnce`. */
export function useRested<Value>(value: Value, isAtOnce: boolean): Value {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), isAtOnce ? 0 : RESTS_MS);
    return () => clearTimeout(timer);
  }, [value, isAtOnce]);
  return isAtOnce ? value : rested;
}
