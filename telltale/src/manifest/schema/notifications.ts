import { z } from 'zod';
import { choiceByKey } from './choice.ts';
import { closed } from './closed.ts';
import { commandLine } from './hooks.ts';
import { name, nonEmptyText, text } from './names.ts';
import { webhookSecret } from './webhook-secret.ts';

/** What a rule can be about. `stuck` is a task whose agent does not come further, and a session that has stalled. */
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
