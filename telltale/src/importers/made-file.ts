/** A file to be written, relative to the folder of the import. */
export interface MadeFile {
  readonly path: string;
  readonly text: string;
}
