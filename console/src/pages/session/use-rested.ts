import { useEffect, useState } from 'react';

/** A slider that has not moved for so long rests. */
const RESTS_MS = 150;

/** A value that follows once it rests: for what is too much work to do on the way. At once where `isAtOnce`. */
export function useRested<Value>(value: Value, isAtOnce: boolean): Value {
  const [rested, setRested] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setRested(value), isAtOnce ? 0 : RESTS_MS);
    return () => clearTimeout(timer);
  }, [value, isAtOnce]);
  return isAtOnce ? value : rested;
}
