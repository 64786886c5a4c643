import { z } from 'zod';
import { choiceByKey } from './choice.ts';
import { closed } from './closed.ts';
import { invocation } from './decision.ts';
import {
  finding,
  jsonValue,
  name,
  nonEmptyText,
  positiveDuration,
  text,
  type ValuesFinding,
} from './values.ts';

/** Standard Webhooks asks for 24 bytes. Fewer than 16 can be guessed by trying. */
const MIN_BYTES = 16;
const WHSEC = 'whsec_';

const HINT =
  'Create one with: openssl rand -base64 32. Keep it in an environment variable, and refer to that variable without a default.';

/** Placeholders that people leave in place of a secret, as lower-case letters and digits only. */
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
/** Blanks and invisible characters. */
const NOTHING = /^[\s\p{Cf}\p{Cc}]*$/u;

/**
 * The key that signs a webhook. Whoever knows it can trigger what the webhook starts, so an empty or guessable key is
 * an error, whatever its source.
 */
export const webhookSecret = (description: string) =>
  z
    .string()
    .check((ctx) => {
      const found = weakness(ctx.value);
      if (found !== undefined) ctx.issues.push(finding(ctx.value, found));
    })
    .register(z.globalRegistry, { description, expects: 'a secret of at least 16 random bytes' });

function weakness(secret: string): ValuesFinding | undefined {
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

/** A text without any letter or digit counts as empty. */
function isDefault(text: string): boolean {
  const bare = text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  return bare === '' || DEFAULTS.has(bare) || PLACEHOLDER.test(text.trim()) || REPEATED.test(bare);
}

const weak = (message: string): ValuesFinding => ({ code: 'weak_secret', message, hint: HINT });

/** The arguments of a program. They never go through a shell. */
export const commandLine = (description: string) =>
  z.array(text('The program or an argument.')).min(1).meta({
    description,
    expects: 'a list of the program and its arguments ([git, log, "-n", "5"]), because no shell is used',
  });

const hookCommand = closed(
  {
    title: 'a hook',
    id: 'HookCommand',
    description: 'A program asked at this point.',
    slips: {
      run: 'Write a program as "command: [program, argument]".',
      script: 'A hook has "invoke" or "command".',
    },
  },
  {
    command: commandLine('The program and its arguments; the context comes as JSON on its standard input.'),
    cwd: nonEmptyText('The folder it runs in.').optional(),
    env: z.record(z.string(), z.string()).prefault({}).describe('Environment variables for it.'),
    timeout: positiveDuration('How long it may take.').optional(),
    fallback: jsonValue('The result when it fails or is too slow.'),
  },
);

const hookInvocation = invocation(
  'HookInvocation',
  jsonValue('The value when the artifact is missing, fails or is too slow.'),
);

const hookList = (description: string) =>
  z
    .array(choiceByKey('A hook', { invoke: hookInvocation, command: hookCommand }))
    .prefault([])
    .describe(description);

/** In the order: the agent's hooks, the workflow's, the step's. */
export const hooks = closed(
  {
    title: '"hooks"',
    id: 'Hooks',
    description: 'Invocations and commands around turns and actions.',
    slips: {
      before_tool: 'Use "before_action".',
      after_tool: 'Use "after_action".',
      after_error: 'Use "on_error".',
    },
  },
  {
    before_turn: hookList('Before a turn begins.'),
    after_turn: hookList('After a turn.'),
    before_action: hookList('Before an action; may refuse it or change its parameters.'),
    after_action: hookList('After an action; may change the result the model sees.'),
    on_error: hookList('When an action or a turn fails.'),
  },
);

/** What a rule can be about. `stuck` is a task on which the agent makes no progress, or a session that has stalled. */
const NOTIFIED = [
  'session.completed',
  'session.failed',
  'session.stalled',
  'session.cancelled',
  'turn.failed',
  'action.failed',
  'review.requested',
  'stuck',
  'workflow.completed',
  'workflow.failed',
  'workflow.cancelled',
] as const;

const webhook = closed(
  {
    title: 'a webhook',
    description: 'A POST of JSON, signed as Standard Webhooks say.',
    slips: {
      href: 'Use "url".',
      address: 'Use "url".',
      key: 'Use "secret".',
      token: 'Use "secret". Put a bearer token into "headers".',
      method: 'Remove it. A webhook is always a POST.',
    },
  },
  {
    url: nonEmptyText('The address: http or https.'),
    secret: webhookSecret(
      'The key of its signature, whsec_BASE64 or any text; take it from the environment.',
    ),
    headers: z
      .record(z.string(), text('The value of a header.'))
      .prefault({})
      .describe('Headers that go with it.'),
  },
);

const channel = choiceByKey('A channel', {
  webhook: closed({ title: 'a channel', id: 'WebhookChannel' }, { webhook }),
  desktop: closed(
    { title: 'a channel', id: 'DesktopChannel' },
    {
      desktop: z
        .literal(true)
        .meta({ description: 'On the desktop of whoever runs the server.', expects: 'true' }),
    },
  ),
  command: closed(
    { title: 'a channel', id: 'CommandChannel', slips: { run: 'Use "command: [program, argument]".' } },
    {
      command: commandLine(
        'The program and its arguments, without a shell. In arguments {message}, {type}, {agent}, {session}, {run}, {url} and {id} are filled in; the whole comes as JSON on its standard input.',
      ),
    },
  ),
});

const rule = closed(
  {
    title: 'a rule',
    slips: {
      event: 'Use "on", a list.',
      events: 'Use "on", a list.',
      when: 'Use "on", a list.',
      channel: 'Use "to", a list.',
      channels: 'Use "to", a list.',
    },
  },
  {
    on: z.array(z.enum(NOTIFIED)).min(1).describe('What happened.'),
    to: z
      .array(name('The name of a channel.'))
      .min(1)
      .optional()
      .describe('The channels that are told; all of them if absent.'),
  },
);

export const notifications = closed(
  {
    title: '"notifications"',
    description: 'Who is told of what happens, by a server. Steps of type notify name channels, too.',
    slips: { webhook: 'Put it under "channels: { NAME: { … } }".', on: 'Put it into the list "rules".' },
  },
  {
    channels: z
      .record(name('The name of a channel.'), channel)
      .describe('The ways to tell somebody, by name.'),
    rules: z.array(rule).prefault([]).describe('Which events are told to whom.'),
  },
);
