/** Tells every listener. One that throws is a mistake of the program around: it surfaces there, and the rest still hear. */
export function tellAll<Event>(listeners: Iterable<(event: Event) => void>, event: Event): void {
  for (const listener of listeners) tellOne(listener, event);
}

export function tellOne<Event>(listener: (event: Event) => void, event: Event): void {
  try {
    listener(event);
  } catch (thrown) {
    queueMicrotask(() => {
      throw thrown;
    });
  }
}
