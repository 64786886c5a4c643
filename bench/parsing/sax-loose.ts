import sax from 'sax';
import { type Contestant, parseBody } from './contestant.ts';

/**
 * sax in loose mode, without line and column counting. It is given a root element, since it reads no tags after the
 * first root has closed, and knows no entities here, so that it leaves `&amp;` in a body as it is written; errors are
 * passed over, as its README shows.
 */
export const saxLoose: Contestant = {
  name: 'sax 1.6, loose',
  run(turns) {
    const bodies: unknown[] = [];
    let characters = 0;
    let body: string | undefined;
    for (const chunks of turns) {
      body = undefined;
      const parser = sax.parser(false, { lowercase: true, position: false });
      parser.ENTITIES = {};
      parser.onerror = () => {
        parser.error = null;
        parser.resume();
      };
      parser.onopentagstart = (tag) => {
        if (tag.name === 'action') body = '';
      };
      parser.ontext = (text) => {
        if (body === undefined) characters += text.length;
        else body += text;
      };
      parser.onclosetag = (name) => {
        if (name !== 'action' || body === undefined) return;
        parseBody(body, bodies);
        body = undefined;
      };
      parser.write('<turn>');
      for (const chunk of chunks) parser.write(chunk);
      parser.write('</turn>').close();
    }
    return { bodies, witness: characters };
  },
};
