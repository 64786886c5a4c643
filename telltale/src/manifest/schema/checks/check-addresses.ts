import type { Issue } from '../../issue.ts';
import { readHostEntry } from '../../permissions/host-entry.ts';
import { showValue } from '../show-value.ts';
import { type DocumentNode, errorAt, warningAt } from './document-node.ts';

/** What is put in when a call is made: parameters and references. */
const LEFT_OPEN = /\{|\$/;

/** An address that a request is made to, as far as it is known before one is made. */
export function checkRequestAddress(address: DocumentNode): readonly Issue[] {
  const text = address.text();
  if (
    text === undefined ||
    text === '' ||
    /^https?:\/\/./i.test(text) ||
    LEFT_OPEN.test(text.slice(0, 'https://'.length))
  )
    return [];
  return [
    errorAt(address, 'bad_address', `${showValue(text)} is not an http:// or https:// address.`, {
      hint: /^[\w.-]+(?::\d+)?(?:[/?#]|$)/.test(text)
        ? `Did you mean "https://${text}"?`
        : 'Write it like https://example.com/path.',
    }),
  ];
}

/**
 * The hosts that `permissions.network` names, in whichever form. An entry that no host can be would deny or allow
 * nothing, and a host with a path or a mask would count as the host alone: neither is what its author relies on.
 */
export function checkNetwork(network: DocumentNode): readonly Issue[] {
  return [network, ...['allow', 'ask', 'deny'].map((key) => network.at(key))].flatMap((list) =>
    list.items().flatMap(checkHost),
  );
}

const MAX_PORT = 65_535;
const RANGE = /^\[?[\d.:a-f]+\]?\/\d+$/i;

function checkHost(entry: DocumentNode): readonly Issue[] {
  const text = entry.text();
  if (text === undefined || text === '' || LEFT_OPEN.test(text)) return [];
  const shown = showValue(text);
  if (RANGE.test(text))
    return [
      errorAt(
        entry,
        'bad_address',
        `${shown} is a range of addresses, but an entry of "network" has to be a host.`,
        {
          hint: 'Write each address as its own entry, or the domain: *.example.com.',
        },
      ),
    ];
  const { host, port } = readHostEntry(text);
  if (!isHost(host) || Number(port ?? 0) > MAX_PORT)
    return [
      errorAt(entry, 'bad_address', `${shown} is not a host, so it would never match.`, {
        hint: 'Write it like api.example.com, localhost:8080, *.example.com, [::1] or *.',
      }),
    ];
  // A whole address stands for its host: it was pasted. Who writes a path behind a host means the path.
  if (/^[a-z][a-z0-9+.-]*:\/\//i.test(text) || !/[/?#]./.test(text)) return [];
  return [
    warningAt(entry, 'no_effect', `Only the host of ${shown} counts. The path is ignored.`, {
      hint: `Write "${text.replace(/[/?#].*$/s, '')}".`,
    }),
  ];
}

/** With colons it is an address of IPv6; of wildcards only the first label may be one, or all of it. */
function isHost(host: string): boolean {
  if (host === '*') return true;
  if (host.includes(':')) return URL.canParse(`http://[${host}]`);
  const name = host.replace(/^\*\./, '');
  return !/[\s@*\\%]/.test(name) && URL.canParse(`http://${name}`);
}
