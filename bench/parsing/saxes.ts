import { SaxesParser } from 'saxes';
import { type Contestant, parseBody } from './contestant.ts';

/**
 * saxes reads well-formed XML and nothing else. It is given fragments (text outside a root), no namespaces, no
 * position, and a handler that passes over errors, since its own throws at the first one.
 */
export const saxes: Contestant = {
  name: 'saxes 6',
  run(turns) {
    const bodies: unknown[] = [];
    let characters = 0;
    let body: string | undefined;
    let fed = 0;
    for (const chunks of turns) {
      body = undefined;
      const parser = new SaxesParser({ fragment: true, xmlns: false, position: false });
      parser.on('error', () => {});
      parser.on('opentagstart', (tag) => {
        if (tag.name === 'action') body = '';
      });
      parser.on('text', (text) => {
        if (body === undefined) characters += text.length;
        else body += text;
      });
      parser.on('closetag', (tag) => {
        if (tag.name !== 'action' || body === undefined) return;
        parseBody(body, bodies);
        body = undefined;
      });
      try {
        for (const chunk of chunks) {
          parser.write(chunk);
          fed += chunk.length;
        }
        parser.close();
      } catch (error) {
        return {
          bodies,
          witness: characters,
          stopped: `after ${fed} characters: ${(error as Error).message}`,
        };
      }
    }
    return { bodies, witness: characters };
  },
};
