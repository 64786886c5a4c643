import { z } from 'zod';
import { type Finding, finding } from './finding.ts';

/** Standard Webhooks asks for 24 bytes; fewer than 16 can be tried out. */
const MIN_BYTES = 16;
const WHSEC = 'whsec_';

const HINT =
  'Create one with: openssl rand -base64 32. Keep it in an environment variable, and refer to that variable without a default.';

/** What people write until they think of a secret: letters and digits alone, in lower case. */
const DEFAULTS: ReadonlySet<string> = new Set(
  [
    'changeme changeit changethis changemeplease changemenow replaceme replacethis setme insertsecrethere',
    'secret mysecret thesecret asecret yoursecret yoursecrethere yourwebhooksecret webhooksecret hooksecret',
    'supersecret topsecret signingsecret sharedsecret secretkey mysecretkey yoursecretkey signingkey',
    'password passwd pass pwd mypassword letmein qwerty admin root user guest key token apikey hook webhook',
    'test testing tests testsecret example examplesecret sample demo demosecret dummy default placeholder fake',
    'todo fixme tbd none null undefined nil empty unset foo bar baz foobar whsec abc abc123 123 1234 12345',
    '123456 1234567 12345678 123456789 1234567890 abcdef abcdefgh',
  ].flatMap((line) => line.split(' ')),
);
/** `<secret>`, `[your secret]`, `{{ secret }}`, `your-signing-key`, `insert a secret here`. */
const PLACEHOLDER = /^(?:<.*>|\[.*\]|\{.*\}|%.*%|your[\W_].*|(?:put|insert|enter|paste|add)[\W_].*here)$/is;
const REPEATED = /^(.)\1+$/su;
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/;
/** Blanks, and what cannot be seen. */
const NOTHING = /^[\s\p{Cf}\p{Cc}]*$/u;

/**
 * The key of a webhook's signature. Whoever knows it can start what the webhook starts, so one that is empty, or that
 * anybody would guess, is an error, wherever it came from.
 */
export const webhookSecret = (description: string) =>
  z
    .string()
    .check((ctx) => {
      const found = weakness(ctx.value);
      if (found !== undefined) ctx.issues.push(finding(ctx.value, found));
    })
    .register(z.globalRegistry, { description, expects: 'a secret of at least 16 random bytes' });

function weakness(secret: string): Finding | undefined {
  const text = secret.trim();
  if (NOTHING.test(secret)) return weak('The secret of a webhook is empty.');
  if (!text.toLowerCase().startsWith(WHSEC)) return isDefault(text) ? weak(GUESSED) : undefined;
  const written = text.slice(WHSEC.length);
  const key = Buffer.from(written, 'base64');
  if (key.length === 0) return weak(`The secret has nothing after "${WHSEC}".`);
  if (isDefault(written) || isDefault(key.toString('utf8')) || key.every((byte) => byte === key[0]))
    return weak(GUESSED);
  if (!secret.startsWith(WHSEC) || secret !== text || !BASE64.test(written))
    return weak(`A secret that begins with "${WHSEC}" has to continue with base64 and nothing else.`);
  return key.length < MIN_BYTES
    ? weak(`The secret has ${key.length} bytes after "${WHSEC}", but needs at least ${MIN_BYTES}.`)
    : undefined;
}

const GUESSED = 'The secret of this webhook is a default or a placeholder that anybody can guess.';

/** What has no letter or digit at all is as good as empty. */
function isDefault(text: string): boolean {
  const bare = text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  return bare === '' || DEFAULTS.has(bare) || PLACEHOLDER.test(text.trim()) || REPEATED.test(bare);
}

const weak = (message: string): Finding => ({ code: 'weak_secret', message, hint: HINT });
