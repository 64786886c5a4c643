import { createServer } from 'node:http2';
import * as restate from '@restatedev/restate-sdk';
import * as clients from '@restatedev/restate-sdk-clients';

export const contestant = {
  async open({ steps, restate: server }) {
    let ran = 0;
    const bench = restate.service({
      name: 'bench',
      handlers: {
        run: async (ctx, n) => {
          for (let at = 1; at <= steps; at += 1)
            await ctx.run(`step_${at}`, async () => {
              ran += 1;
              return { n };
            });
          return { n };
        },
      },
    });
    const endpoint = createServer(restate.createEndpointHandler({ services: [bench] }));
    await new Promise((resolve) => endpoint.listen(0, '127.0.0.1', resolve));
    const uri = `http://127.0.0.1:${endpoint.address().port}`;
    const registered = await fetch(`${server.admin}/deployments`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ uri }),
    });
    if (!registered.ok) throw new Error(`Restate refused the service: ${await registered.text()}`);
    const client = clients.connect({ url: server.ingress }).serviceClient(bench);
    return {
      run: async (n) => void (await client.run(n)),
      ran: () => ran,
      close: async () => void endpoint.close(),
    };
  },
};
