const HIDDEN = '[hidden]';
/** Shorter values would be found by chance in any text. */
const MIN_LENGTH = 4;

/** Takes the values of headers, and the parts of them that are tokens, out of a text: servers quote what they got. */
export function createHide(headers: Readonly<Record<string, string>>): (text: string) => string {
  const secrets = [
    ...new Set(Object.values(headers).flatMap((value) => [value.trim(), ...value.trim().split(/\s+/)])),
  ]
    .filter((value) => value.length >= MIN_LENGTH && !SCHEMES.has(value.toLowerCase()))
    .toSorted((a, b) => b.length - a.length);
  return (text) => secrets.reduce((shown, secret) => shown.replaceAll(secret, HIDDEN), text);
}

const SCHEMES: ReadonlySet<string> = new Set(['bearer', 'basic', 'token', 'digest']);
