/** A YAML map or JSON object, as opposed to null, lists and scalars. */
export const isMap = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
