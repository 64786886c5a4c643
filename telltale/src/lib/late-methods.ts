/** What a function on the prototype is called on. */
type On<Own, Methods> = { readonly [Name in keyof Methods]: Methods[Name] & ThisType<Own> };

/** For each part, how it is made for a record. */
type Makers<Own, Parts> = { readonly [Name in keyof Parts]: (own: Own) => Parts[Name] };

/**
 * A prototype for records that programs hold. A method is bound to the record, and a part made for it, when it is first
 * asked for, and is the record's own from then on: so it can be taken off and handed on, and what nobody asks for is not
 * there. With a closure for each of ten methods a session had 600 bytes more.
 */
export function lateMethods<Own extends object, Methods extends object, Parts extends object>(
  methods: On<Own, Methods>,
  parts: Makers<Own, Parts>,
): Methods & Parts {
  const prototype = {};
  for (const [name, method] of Object.entries(methods) as [string, (...given: never[]) => unknown][])
    late(prototype, name, (own) => method.bind(own as never));
  for (const [name, make] of Object.entries(parts) as [string, (own: object) => unknown][])
    late(prototype, name, make);
  return prototype as Methods & Parts;
}

function late(prototype: object, name: string, make: (own: object) => unknown): void {
  const keep = (own: object, value: unknown) => {
    Object.defineProperty(own, name, { value, enumerable: true, writable: true, configurable: true });
    return value;
  };
  Object.defineProperty(prototype, name, {
    get(this: object) {
      return keep(this, make(this));
    },
    // As on any record, whoever tests a program may put another function there.
    set(this: object, value: unknown) {
      keep(this, value);
    },
  });
}
