import type { z } from '@hono/zod-openapi';
import { RuntimeError } from '../../kernel/runtime-error.ts';

/** Mistakes that are named at once. */
const MAX_SHOWN = 3;

export const badRequest = (operation: string, where: string, error: z.ZodError) => {
  const { issues } = error;
  const shown = issues.slice(0, MAX_SHOWN).map(mistake);
  const more = issues.length > MAX_SHOWN ? [`and ${issues.length - MAX_SHOWN} more`] : [];
  return new RuntimeError(
    'bad_request',
    `${where} of ${operation} is not as it has to be: ${[...shown, ...more].join('; ')}.`,
    { hint: `See what ${operation} takes: GET /openapi.json` },
  );
};

const mistake = ({ path, message }: z.core.$ZodIssue): string => {
  const said = `${message.slice(0, 1).toLowerCase()}${message.slice(1)}`.replace(/\.$/, '');
  return path.length === 0 ? said : `"${path.join('.')}": ${said}`;
};

export const notJson = (operation: string, problem: string) =>
  new RuntimeError('bad_request', `The body of ${operation} is no JSON: ${problem.replace(/\.$/, '')}.`, {
    hint: 'Send a JSON object, in UTF-8, with "content-type: application/json".',
  });

export const notSaidToBeJson = (operation: string, type: string) =>
  new RuntimeError('unsupported_media_type', `The body of ${operation} is said to be "${type}".`, {
    hint: 'Send JSON, and say so: "content-type: application/json".',
  });

export const badCursor = (cursor: string) =>
  new RuntimeError('bad_request', `"${cursor.slice(0, 80)}" is no cursor of this list.`, {
    hint: 'Give what the page before has as "next", as it is, or leave it out to begin at the beginning.',
  });
