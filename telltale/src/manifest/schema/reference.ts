import { z } from 'zod';
import { choice } from './choice.ts';

const REFERENCE = /^\$\{[\s\S]+\}$/;

/** Whether a text is exactly one `${…}`: then it stands for a value of any type, known when the step runs. */
const isReference = (value: unknown): value is string => typeof value === 'string' && REFERENCE.test(value);

const reference = (description: string) =>
  z.string().regex(REFERENCE).meta({ description, expects: `one reference, like \${steps.NAME.output}` });

/** A value, or one reference that stands for it. */
export function orReference<S extends z.core.$ZodType>(description: string, schema: S) {
  const referred = reference(description);
  return choice([schema, referred], (value) => (isReference(value) ? referred : schema)).describe(
    description,
  );
}
