import { z } from '@hono/zod-openapi';
import { suggest } from '../../kernel/nearest.ts';
import { RuntimeError } from '../../kernel/runtime-error.ts';

/** Mistakes that are named at once. */
const MAX_SHOWN = 3;

/** `where` is the path, the query or the body of the operation, and `schema` what it should have fitted. */
export const badRequest = (operation: string, where: string, { issues }: z.ZodError, schema: z.ZodType) => {
  const shown = issues.slice(0, MAX_SHOWN).map(mistake);
  const more = issues.length > MAX_SHOWN ? [`and ${issues.length - MAX_SHOWN} more`] : [];
  return new RuntimeError(
    'bad_request',
    `The ${where} of ${operation} does not fit: ${[...shown, ...more].join('; ')}.`,
    { hint: `${allowedInstead(issues, schema)}See what ${operation} takes: GET /openapi.json` },
  );
};

/** Of a key at the top that nobody asked for: the one that was meant, or all there are. */
function allowedInstead(issues: readonly z.core.$ZodIssue[], schema: z.ZodType): string {
  const strange = issues.find((issue) => issue.code === 'unrecognized_keys' && issue.path.length === 0);
  if (strange?.code !== 'unrecognized_keys' || !(schema instanceof z.ZodObject)) return '';
  return `${suggest(strange.keys[0] ?? '', Object.keys(schema.shape))} `;
}

const mistake = ({ path, message, code }: z.core.$ZodIssue): string => {
  if (code === 'invalid_type' && message.endsWith('received undefined'))
    return path.length === 0 ? 'there is none' : `"${path.join('.')}" is missing`;
  const said = `${message.slice(0, 1).toLowerCase()}${message.slice(1)}`.replace(/\.$/, '');
  return path.length === 0 ? said : `"${path.join('.')}": ${said}`;
};

export const badCursor = (cursor: string) =>
  new RuntimeError('bad_cursor', `"${cursor.slice(0, 80)}" is no cursor of this list.`, {
    hint: 'Give what the page before has as "next", as it is, or leave it out to begin at the beginning.',
  });
