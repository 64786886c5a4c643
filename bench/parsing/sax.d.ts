/** The part of sax 1.6 that the bench calls; the package ships no types. */
declare module 'sax' {
  export interface SAXParser {
    ENTITIES: Record<string, string>;
    error: Error | null;
    onerror: (error: Error) => void;
    ontext: (text: string) => void;
    onopentagstart: (tag: { readonly name: string }) => void;
    onclosetag: (name: string) => void;
    write(chunk: string): SAXParser;
    resume(): SAXParser;
    close(): SAXParser;
  }
  export interface SAXOptions {
    readonly trim?: boolean;
    readonly normalize?: boolean;
    readonly lowercase?: boolean;
    readonly position?: boolean;
    readonly strictEntities?: boolean;
  }
  const sax: { parser(strict: boolean, options?: SAXOptions): SAXParser };
  export default sax;
}
