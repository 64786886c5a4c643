import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect } from 'vitest';

interface Described {
  readonly operationId: string;
  readonly tags: readonly string[];
  readonly description?: string;
  readonly security: readonly object[];
  readonly parameters?: readonly { readonly name: string }[];
  readonly responses: Readonly<
    Record<string, { readonly content?: Readonly<Record<string, { readonly schema: object }>> }>
  >;
}

export interface Document {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, object>> };
}

/** Holds what a server answers against what its document says of it. */
export interface FitCheck {
  readonly document: Document;
  readonly fetch: typeof fetch;
  /** Operations that were called, by id. */
  readonly called: ReadonlySet<string>;
}

export async function createFitCheck(url: string): Promise<FitCheck> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as Document;
  const ajv = new Ajv2020({ strict: false });
  ajv.addSchema({ $id: 'document', ...document });
  const called = new Set<string>();
  const find = (method: string, path: string): Described | undefined => {
    const fits = Object.keys(document.paths).filter((each) =>
      new RegExp(`^${each.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
    );
    const [best] = fits.sort((a, b) => Number(a.includes('{')) - Number(b.includes('{')));
    return best === undefined ? undefined : document.paths[best]?.[method.toLowerCase()];
  };
  const check = async (described: Described, answer: Response) => {
    const { operationId, responses } = described;
    const status = String(answer.status);
    const said = responses[status] ?? responses[`${status[0]}XX`];
    expect(said, `${operationId} answers ${status}, which the document does not know`).toBeDefined();
    const type = answer.headers.get('content-type')?.split(';')[0] ?? '';
    const body = said?.content?.[type];
    if (said?.content === undefined) return expect(await answer.text()).toBe('');
    expect(body, `${operationId} answers with ${type}, which the document does not know`).toBeDefined();
    if (type !== 'application/json' || body === undefined) return;
    const pointer = JSON.parse(JSON.stringify(body.schema).replaceAll('"#/', '"document#/')) as object;
    const fits = ajv.compile(pointer);
    if (!fits(await answer.json()))
      expect.fail(`${operationId} ${status} does not fit: ${ajv.errorsText(fits.errors)}`);
  };
  return {
    document,
    called,
    async fetch(input, init) {
      const answer = await fetch(input, init);
      const { pathname } = new URL(String(input));
      const described = find(init?.method ?? 'GET', pathname);
      if (described !== undefined) {
        called.add(described.operationId);
        if (!answer.headers.get('content-type')?.startsWith('text/event-stream'))
          await check(described, answer.clone());
      }
      return answer;
    },
  };
}
