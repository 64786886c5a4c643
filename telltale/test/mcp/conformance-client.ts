/**
 * The program that the conformance suite starts for each scenario, with the address of its server as the last argument:
 * it uses a server as an agent does.
 */
import { createSystemClock } from '../../src/lib/clock.ts';
import { createMcpClient } from '../../src/mcp/open-mcp-server.ts';
import { createPermittedHosts } from '../../src/tools/access/permitted-hosts.ts';
import { systemResolver } from '../../src/tools/http/checked-lookup.ts';
import { createHttpSender } from '../../src/tools/http/http-sender.ts';

const url = process.argv.at(-1) ?? '';
const hosts = createPermittedHosts({ allow: ['localhost', '127.0.0.1'], ask: [], deny: [] });
const sender = createHttpSender(url, { hosts, resolveHost: systemResolver });
const clock = createSystemClock();

/** What the scenarios want called, where their server lists it. */
const CALLS: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  add_numbers: { a: 5, b: 3 },
  test_reconnection: {},
  test_client_elicitation_defaults: {},
  'test-tool': {},
};

const server = await createMcpClient()({
  type: 'http',
  name: 'conformance',
  url,
  headers: {},
  send: sender.send,
  clock,
});
for (const { name } of server.tools) {
  const input = CALLS[name];
  if (input === undefined) continue;
  const answer = await server.call({
    what: `tool "${name}"`,
    tool: name,
    input,
    signal: AbortSignal.timeout(60_000),
  });
  console.log(name, JSON.stringify(answer));
}
await server.close();
sender.close();
