import type { Finding } from './diagnostic.ts';

export interface Secret {
  readonly name: string;
  readonly value: string;
}

/** Shorter values ("1", "dev") stand in half of all messages by chance. */
const MIN_SECRET = 6;
/** In a message about the value itself chance plays no part. */
const MIN_SECRET_HERE = 3;
const MIN_TRACE = 4;

/** The text with every value of the environment shown as the reference it came from, longest first. */
function withoutSecrets(text: string, secrets: readonly Secret[], minLength = MIN_SECRET): string {
  let clean = text;
  for (const { name, value } of [...secrets].sort((a, b) => b.value.length - a.value.length))
    if (value.length >= minLength) clean = clean.replaceAll(value, `\${${name}}`);
  return clean;
}

/**
 * A finding about a value that came from the environment. A message may quote a part of the value, clipped or in
 * another case, so that replacing is not enough: where any trace of it is left, the message is put in general terms.
 */
export function redactFinding(finding: Finding, here: readonly Secret[], all: readonly Secret[]): Finding {
  const clean = (text: string, own: readonly Secret[]) =>
    withoutSecrets(withoutSecrets(text, own, MIN_SECRET_HERE), all);
  const message = clean(finding.message, here);
  // "Write true or false." says nothing of which of them it is.
  const telling = here.filter(({ value }) => value !== 'true' && value !== 'false');
  const hint = finding.hint === undefined ? undefined : clean(finding.hint, telling);
  const names = [...new Set(here.map(({ name }) => `\${${name}}`))].join(' and ');
  const show = here.length > 0 && showsTrace(message, here);
  return {
    ...finding,
    message: show ? `The value of ${names} from the environment is not allowed here.` : message,
    hint: hint !== undefined && showsTrace(hint, telling) ? `Check the value of ${names}.` : hint,
  };
}

function showsTrace(text: string, secrets: readonly Secret[]): boolean {
  const haystack = text.toLowerCase();
  return secrets.some(({ name, value }) => {
    const needle = value.toLowerCase();
    const without = haystack.replaceAll(`\${${name.toLowerCase()}}`, '');
    if (needle.length < MIN_TRACE)
      return needle !== '' && without.split(/[^\w.+-]+|\.(?=\s|$)/).includes(needle);
    for (let at = 0; at + MIN_TRACE <= needle.length; at++)
      if (without.includes(needle.slice(at, at + MIN_TRACE))) return true;
    return false;
  });
}
