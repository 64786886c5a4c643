import type { AgentManifest } from '../../manifest/schema/kinds.ts';

/** A derived variable as a manifest has it. */
export type DerivedVariable = AgentManifest['context_variables']['derived'][number];

export type DerivedTrigger = NonNullable<DerivedVariable['triggers']>[number];

export type BuiltInType = BuiltIn['type'];

type BuiltIn = Exclude<DerivedTrigger, { readonly type: `${string}:${string}` }>;

/** The keys of one type of trigger, as the manifest's schema gives them. */
export type GivenTrigger<Type extends string> = Omit<
  Extract<DerivedTrigger, { readonly type: Type }>,
  'set' | 'reset_on'
>;

/** What sets a variable or resets it. */
export type AnyTrigger = DerivedTrigger | NonNullable<DerivedVariable['reset_on']>[number];
