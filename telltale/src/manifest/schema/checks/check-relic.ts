import type { Issue } from '../../issue.ts';
import { isMap } from '../is-map.ts';
import { EMBEDDED_DRIVERS } from '../relic.ts';
import { showValue } from '../show-value.ts';
import { type DocumentNode, errorAt } from './document-node.ts';

const SCHEMES: Readonly<Record<string, readonly string[]>> = {
  redis: ['redis', 'rediss'],
  http: ['http', 'https'],
  sql: ['postgres', 'postgresql', 'sqlite', 'file'],
};

/** Drivers of an outside service need an address, and one that they can speak to. */
export function checkRelic(relic: DocumentNode): readonly Issue[] {
  const driver = relic.at('driver').text();
  const schemes = SCHEMES[driver ?? ''];
  if (driver === undefined || schemes === undefined) return [];
  const connection = relic.at('connection');
  if (connection.value === undefined && !EMBEDDED_DRIVERS.includes(driver))
    return [
      errorAt(relic, 'missing', `A ${driver} relic needs "connection".`, {
        hint: `Write ${example(driver)}.`,
      }),
    ];
  if (isMap(connection.value) && !connection.has('url'))
    return [
      errorAt(connection, 'bad_address', `The connection of a ${driver} relic has no "url".`, {
        hint: `Set "url" to ${example(driver)}.`,
        at: 'key',
      }),
    ];
  const address = connection.text() ?? connection.at('url').text();
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(address ?? '')?.[1]?.toLowerCase();
  const wanted = driver === 'sql' && scheme === undefined ? undefined : schemes;
  if (address === undefined || wanted === undefined || (scheme !== undefined && wanted.includes(scheme)))
    return [];
  const place = connection.text() === undefined ? connection.at('url') : connection;
  return [
    errorAt(place, 'bad_address', `A ${driver} relic cannot reach ${showValue(address)}.`, {
      hint: `Write ${example(driver)}.`,
    }),
  ];
}

const example = (driver: string): string =>
  driver === 'redis'
    ? 'redis://HOST:PORT'
    : driver === 'http'
      ? 'an http:// or https:// address'
      : 'a SQLite file or postgres://HOST/DATABASE';
