import { suggest } from '../../../kernel/nearest.ts';
import type { Issue } from '../../issue.ts';
import { showValue } from '../show-value.ts';
import { type DocumentNode, errorAt } from './document-node.ts';

/** What is filled in in the arguments of a channel's command. */
const PLACEHOLDERS = ['message', 'type', 'agent', 'session', 'run', 'url', 'id'];

/** Rules name channels that there are; addresses and programs are such. */
export const checkNotifications = (notifications: DocumentNode): readonly Issue[] => {
  const channels = notifications.at('channels').entries();
  const names = channels.map(([name]) => name);
  return [
    ...channels.flatMap(([, channel]) => [
      ...checkAddress(channel.at('webhook').at('url')),
      ...checkHeaders(channel.at('webhook').at('headers')),
      ...checkCommand(channel.at('command')),
    ]),
    ...notifications
      .at('rules')
      .items()
      .flatMap((rule) => rule.at('to').items())
      .filter((to) => to.text() !== undefined && !names.includes(to.text() ?? ''))
      .map((to) =>
        errorAt(to, 'unknown_name', `There is no channel "${to.text()}".`, {
          hint: () => suggest(to.text() ?? '', names, 'Channels'),
        }),
      ),
  ];
};

function checkAddress(url: DocumentNode): readonly Issue[] {
  const text = url.text();
  if (text === undefined || text === '') return [];
  const parsed = URL.parse(text);
  const bad = (why: string, hint: string) => [
    errorAt(url, 'bad_address', `${showValue(text)} ${why}.`, { hint }),
  ];
  if (parsed === null) return bad('is not an address', 'Write it like https://example.com/hook.');
  if (!/^https?:$/.test(parsed.protocol))
    return bad('is not an address that accepts a POST', 'Write an http:// or https:// address.');
  if (parsed.username !== '' || parsed.password !== '')
    // Not quoted: a message is for all eyes.
    return [
      errorAt(url, 'bad_address', 'The address contains a user name or a password.', {
        hint: 'Put them into "headers: { authorization: … }".',
      }),
    ];
  return [];
}

/** What the runtime sets itself, and what belongs to the connection. */
const OWN = /^(?:webhook-.*|content-(?:type|length)|host|connection|transfer-encoding)$/i;
const HEADER = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

const checkHeaders = (headers: DocumentNode): readonly Issue[] =>
  headers.entries().flatMap(([name, place]) => {
    if (!HEADER.test(name) || OWN.test(name))
      return [
        errorAt(place, 'not_allowed', `"${name}" cannot be a header of a webhook.`, {
          hint: OWN.test(name) ? 'Telltale sets it.' : 'A header name consists of letters, digits and "-".',
          at: 'key',
        }),
      ];
    if (!/[\r\n\0]/.test(place.text() ?? '')) return [];
    return [
      errorAt(place, 'not_allowed', `The header "${name}" has a value with several lines.`, {
        hint: 'Write it on one line.',
      }),
    ];
  });

function checkCommand(command: DocumentNode): readonly Issue[] {
  const [program, ...args] = command.items();
  if (program === undefined) return [];
  const text = program.text() ?? '';
  return [
    ...(text === '' || /\{[a-z]+\}/.test(text)
      ? [
          errorAt(program, 'bad_command', `The program of a channel cannot be ${showValue(program.value)}.`, {
            hint: 'Write the program itself. Only its arguments can contain placeholders.',
          }),
        ]
      : []),
    ...args.flatMap((arg) =>
      [...(arg.text() ?? '').matchAll(/\{([a-z_]+)\}/g)]
        .filter(([, name = '']) => !PLACEHOLDERS.includes(name))
        .map(([written, name = '']) =>
          errorAt(arg, 'unknown_name', `Unknown placeholder "${written}".`, {
            hint: () => suggest(name, PLACEHOLDERS, 'There are'),
          }),
        ),
    ),
  ];
}
