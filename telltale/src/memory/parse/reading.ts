import type { Node } from 'web-tree-sitter';
import type { GraphCall, GraphImport, GraphSymbol, SymbolKind } from '../../store/graph.ts';

/** Where the nodes that are being read stand. */
export type Place =
  | 'file'
  /** Names are the container's: a namespace, the body of a class. */
  | 'namespace'
  | 'members'
  /** `export`, `declare`: what is within stands where this stands. */
  | 'wrapper'
  /** A declaration outside of its body. */
  | 'head'
  /** Names are local. */
  | 'block';

export interface Frame {
  readonly place: Place;
  /** Of the outermost, where wrappers stand in each other. */
  readonly start: number;
  readonly end: number;
  /** The symbol that it belongs to, its own or the one around it. */
  readonly symbol: number | undefined;
  /** Where the node starts that is this one's body. */
  readonly body: number | undefined;
  readonly exported: boolean;
  /** The class whose fields are set here, where that is how a language declares them. */
  readonly owner: Frame | undefined;
  /** Declarations without a body that stand here: one of the same name that follows is the same symbol. */
  readonly overloads: Map<string, number>;
}

export interface NewSymbol {
  readonly name: string;
  readonly kind: SymbolKind;
  /** Where its name stands. */
  readonly at: Node;
  /** Its whole extent. */
  readonly node: Node;
  readonly signature: string;
  readonly doc: string | undefined;
  /** `as container`: as far as the symbol it stands in. */
  readonly exported: boolean | 'as container';
  /** The symbol it stands in, where that is not the frame's. */
  readonly container?: number | undefined;
}

export interface FrameOptions {
  readonly symbol?: number | undefined;
  readonly body?: Node | null;
  readonly exported?: boolean;
  readonly owner?: Frame | undefined;
}

/** What has been read of a text so far. */
export interface Reading {
  readonly text: string;
  /** The innermost frame; its place is never `wrapper` where `around` is asked for. */
  readonly frame: Frame;
  readonly around: Frame;
  enter(node: Node, place: Place, options?: FrameOptions): Frame;
  /** Whether nothing more can be kept of what files are full of. */
  readonly isFull: boolean;
  /** Leaves the frames that end before this place. */
  leave(start: number): void;
  /** Adds a symbol; undefined where there are too many. */
  add(symbol: NewSymbol): number | undefined;
  /** Lets a symbol reach until the end of this node: the declaration with the body came after those without. */
  extend(symbol: number, node: Node): void;
  /** The first symbol of that name that stands in no other. */
  find(name: string): number | undefined;
  /** Says that what has this name in the file is exported, wherever it is declared. */
  exportName(name: string): void;
  import(found: GraphImport): void;
  /** Says that an imported name has another one in this file: calls are named as what they call is. */
  alias(local: string, name: string): void;
  call(name: string, receiver: string | undefined, line: number): void;
  /** Where decorators that directly precede a node begin; else where the node itself does. */
  decoratedStart(node: Node): number;
  decorator(node: Node): void;
  finish(): {
    readonly symbols: readonly GraphSymbol[];
    readonly imports: readonly GraphImport[];
    readonly calls: readonly GraphCall[];
    /** Whether something was left out for a limit. */
    readonly full: boolean;
  };
}
