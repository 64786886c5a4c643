import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createRuntime } from '../../src/agent/create-runtime.ts';
import { loadAgent } from '../../src/agent/load-agent.ts';
import { createMcpClient } from '../../src/mcp/open-mcp-server.ts';
import { examples, expectSoundLog } from './example-run.ts';

let server: Server;
let url: string;

beforeAll(async () => {
  server = createServer((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end('{"report": {"sky": "fog", "wind_knots": 12}}');
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/weather.json`;
});
afterAll(() => new Promise((closed) => server.close(closed)));

describe('examples/remote-feeds', () => {
  it('knows the weather of another machine over HTTP, and a resource of another over MCP', async () => {
    const folder = `${examples}/remote-feeds`;
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, WEATHER_URL: url };
    const agent = await loadAgent('agent.yml', { cwd: folder, env });
    const runtime = await createRuntime({ store: 'memory', cwd: folder, env, mcp: createMcpClient() });
    try {
      const session = runtime.start(agent, { input: 'May I come in?' });
      expect(await session.result).toMatchObject({
        status: 'completed',
        result: 'Weather: fog, wind 12 kn.',
      });
      expect(await runtime.events(session.id)).toContainEqual(
        expect.objectContaining({ type: 'feed.updated', id: 'weather', told: true }),
      );
      expectSoundLog(await runtime.events(session.id));
      const trial = await runtime.feeds(agent);
      expect(String((await trial.read('depths')).value)).toContain('Everything Server');
      await trial.close();
      // As when its server is stopped: nobody listens there.
      const away = await loadAgent('agent.yml', {
        cwd: folder,
        env: { ...env, WEATHER_URL: 'http://127.0.0.1:9/' },
      });
      const without = runtime.start(away, { input: 'May I come in?' });
      expect(await without.result).toMatchObject({
        status: 'completed',
        result: expect.stringMatching(
          /^\[unavailable: weather: The request to http:\/\/127\.0\.0\.1:9 failed/,
        ),
      });
      expect(await runtime.events(without.id)).toContainEqual(
        expect.objectContaining({ type: 'feed.failed', id: 'weather', told: true }),
      );
    } finally {
      await runtime.close();
    }
  }, 60_000);
});
