import type { FieldError } from '../../events/value-event.ts';
import type { Json } from '../../kernel/json.ts';
import { nearest } from '../../kernel/nearest.ts';
import { clip } from '../../prompt/cut-text.ts';
import type { Violation } from './field-check.ts';
import { isDeeperThan } from './value-size.ts';

/** Characters of a value that an error quotes. */
const MAX_SENT = 200;
const MAX_SENT_DEPTH = 16;
const MAX_FIELD_NAME = 100;
const MAX_NAMES_LISTED = 32;

export const fieldError = (
  field: string,
  sent: Json,
  { code, message }: Violation,
  allowed: string,
): FieldError => ({
  field: clip(field, MAX_FIELD_NAME),
  code,
  sent: cutValue(sent),
  message,
  allowed,
});

export function undeclared(field: string, sent: Json, known: readonly string[]): FieldError {
  const near = nearest(field, known);
  const listed = known.slice(0, MAX_NAMES_LISTED).join(', ');
  return fieldError(
    field,
    sent,
    {
      code: 'undeclared',
      message: `There is no such field.${near === undefined ? '' : ` Did you mean "${near}"?`}`,
    },
    known.length === 0
      ? 'no fields at all'
      : `the fields ${listed}${known.length > MAX_NAMES_LISTED ? ', …' : ''}`,
  );
}

export const moreErrors = (count: number): FieldError => ({
  field: '…',
  code: 'more_errors',
  sent: null,
  message: `${count} more fields of this update were rejected.`,
  allowed: 'the declared fields, each with a value that it takes',
});

/** The value itself where it is small, else the beginning of it as text. */
function cutValue(value: Json): Json {
  if (typeof value === 'string') return clip(value, MAX_SENT);
  if (isDeeperThan(value, MAX_SENT_DEPTH)) return Array.isArray(value) ? 'a deep list' : 'a deep object';
  const text = JSON.stringify(value);
  return text.length <= MAX_SENT ? value : clip(text, MAX_SENT);
}
