import { once } from 'node:events';
import { SAXParser } from 'parse5-sax-parser';
import { type Contestant, parseBody } from './contestant.ts';

/**
 * parse5's streaming parser is a Node Transform, and is driven as one: written to until it asks for a pause. Most of
 * its time at small chunks is the stream's and not the tokenizer's; it offers no other door.
 */
export const parse5SaxParser: Contestant = {
  name: 'parse5-sax-parser 8',
  async run(turns) {
    const bodies: unknown[] = [];
    let characters = 0;
    let body: string | undefined;
    for (const chunks of turns) {
      body = undefined;
      const parser = new SAXParser();
      parser.on('startTag', (tag) => {
        if (tag.tagName === 'action') body = '';
      });
      parser.on('text', ({ text }) => {
        if (body === undefined) characters += text.length;
        else body += text;
      });
      parser.on('endTag', (tag) => {
        if (tag.tagName !== 'action' || body === undefined) return;
        parseBody(body, bodies);
        body = undefined;
      });
      for (const chunk of chunks) if (!parser.write(chunk)) await once(parser, 'drain');
      parser.end();
      await once(parser, 'finish');
    }
    return { bodies, witness: characters };
  },
};
