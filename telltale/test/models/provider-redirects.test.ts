import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createProviderModel } from '../../src/models/providers/create-provider-model.ts';
import { ask } from './collect.ts';
import { type ProviderServer, sse, startProviderServer } from './provider-server.ts';
import { ANTHROPIC, WIRE_FORMATS, type WireFormat } from './wire-formats.ts';

let server: ProviderServer;
let other: ProviderServer;
beforeEach(async () => {
  [server, other] = await Promise.all([startProviderServer(), startProviderServer()]);
});
afterEach(() => Promise.all([server.close(), other.close()]));

const open = (wire: WireFormat) => createProviderModel(wire.ref, { env: wire.env(server.url) });

/** The server sends everything on; `where` is given the path that was asked for. */
function redirect(status: number, where: (path: string) => string): void {
  server.answer = (response, { url }) => {
    response.writeHead(status, { location: where(url) }).end();
  };
}

describe.each(WIRE_FORMATS.map((wire) => [wire.ref, wire] as const))('%s', (_ref, wire) => {
  it.each([301, 302, 303, 307, 308])(
    'a redirect (%i) to another origin is not followed: keys and prompts stay where they were meant for',
    async (status) => {
      redirect(status, (path) => `${other.url}/proxy${path}`);
      const error = (await ask(await open(wire)).error) as { message: string; hint: string };
      expect(error).toMatchObject({ code: 'model_bad_request', retryable: false });
      expect(error.message).toBe(
        `${wire.ref}: ${server.url} redirects to ${other.url}. Telltale does not follow this redirect.`,
      );
      expect(error.hint).toMatch(
        new RegExp(`^Set [A-Z_]+_BASE_URL to ${other.url}/proxy(/v1\\w*)?, if the redirect is right.$`),
      );
      expect(other.requests).toEqual([]);
      expect(server.requests).toHaveLength(1);
    },
  );

  it('a redirect within its origin is followed, with the request as it was', async () => {
    server.answer = (response, { url }) => {
      if (!url.startsWith('/moved')) response.writeHead(307, { location: `/moved${url}` }).end();
      else {
        sse(response, [...wire.start, wire.delta('hello'), ...wire.end('stop')]);
        response.end();
      }
    };
    const { deltas, end } = ask(await open(wire));
    await end;
    expect(deltas).toEqual(['hello']);
    const [first, second] = server.requests;
    expect(second).toEqual({ ...first, url: `/moved${first?.url}` });
  });
});

describe.each(WIRE_FORMATS.map((wire) => [wire.ref, wire] as const))('%s', (_ref, wire) => {
  it.each([204, 205, 300, 304, 306])(
    'a status that is no answer (%i) is told, and not tried again',
    async (status) => {
      server.answer = (response) => {
        response.writeHead(status).end();
      };
      expect(await ask(await open(wire)).error).toMatchObject({
        code: 'model_bad_request',
        retryable: false,
        message: `${wire.ref}: ${server.url} responded with status ${status}, which no model server does.`,
        hint: expect.stringMatching(/^Check [A-Z_]+_BASE_URL, and any proxy in between\.$/),
      });
    },
  );
});

describe('a redirect', () => {
  it('that leads to another origin by one within its own is not followed either', async () => {
    redirect(307, (path) => (path.startsWith('/moved') ? other.url : `/moved${path}`));
    expect(await ask(await open(ANTHROPIC)).error).toMatchObject({
      code: 'model_bad_request',
      message: `${ANTHROPIC.ref}: ${server.url} redirects to ${other.url}. Telltale does not follow this redirect.`,
      hint: `Set ANTHROPIC_BASE_URL to ${other.url}, if the redirect is right.`,
    });
    expect(other.requests).toEqual([]);
  });

  it('that would ask without the prompt, as for a page to sign in at, is told and not followed', async () => {
    redirect(302, () => '/sign-in?for=you');
    expect(await ask(await open(ANTHROPIC)).error).toMatchObject({
      code: 'model_bad_request',
      retryable: false,
      message: `${ANTHROPIC.ref}: ${server.url} responded with a redirect (302) to /sign-in, which would lose the prompt.`,
      hint: 'Check ANTHROPIC_BASE_URL, and any proxy in between.',
    });
    expect(server.requests).toHaveLength(1);
  });

  it('without end is given up, and not tried again', async () => {
    redirect(308, (path) => path);
    expect(await ask(await open(ANTHROPIC)).error).toMatchObject({
      code: 'model_bad_request',
      retryable: false,
      message: `${ANTHROPIC.ref}: ${server.url} redirects more than 5 times.`,
    });
    expect(server.requests).toHaveLength(6);
  });

  it('to what is not an address of HTTP is not followed', async () => {
    for (const location of ['file:///etc/passwd', 'http://[', 'data:text/plain,x']) {
      redirect(307, () => location);
      expect(await ask(await open(ANTHROPIC)).error).toMatchObject({
        code: 'model_bad_request',
        retryable: false,
        hint: 'Check ANTHROPIC_BASE_URL, and any proxy in between.',
      });
    }
  });
});
