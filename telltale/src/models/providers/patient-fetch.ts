/**
 * Node's `fetch` gives up after five minutes without an answer, or without a byte of it, and has no option for that. How
 * long a model may take is for `limits.first_token` to say, and for the watchdog of the call: here nothing ends a request
 * but its signal. A global `fetch` that was replaced, and another dispatcher (a proxy), are used as they are.
 */
export const patientFetch: typeof globalThis.fetch = (input, init) => {
  const dispatcher = patientDispatcher();
  const patient = dispatcher === undefined ? init : { ...init, dispatcher };
  return globalThis.fetch(input, patient as RequestInit);
};

/** As much of undici's dispatcher as `fetch` uses. */
interface Dispatcher {
  dispatch(options: object, handler: object): boolean;
}

/** Where undici, which Node's `fetch` is made of, keeps the dispatcher of all requests. */
const GLOBAL_DISPATCHERS = [Symbol.for('undici.globalDispatcher.1'), Symbol.for('undici.globalDispatcher.2')];

/** The global dispatcher, as it is at each request, without its limits of time. */
function patientDispatcher(): Dispatcher | undefined {
  if (globalDispatcher() === undefined) return undefined;
  return {
    dispatch: (options, handler) =>
      globalDispatcher()?.dispatch({ ...options, headersTimeout: 0, bodyTimeout: 0 }, handler) ?? false,
  };
}

function globalDispatcher(): Dispatcher | undefined {
  void globalThis.Request; // Node loads undici with the first look at a part of it
  for (const name of GLOBAL_DISPATCHERS) {
    const found = (globalThis as Record<symbol, unknown>)[name] as Dispatcher | undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}
