/** Texts that WorkRail has by id, in words of our own: what a prompt refers to has to stand in it. */
export const REFS: Readonly<Record<string, string>> = {
  'wr.refs.memory_usage':
    'Where you have a memory that outlives this task, look into it first and put down what will be of use later. Go on without it where it fails.',
  'wr.refs.memory_store':
    'Where you have a memory that outlives this task, keep what this step has found there: the files, what was decided, and why. Go on where that fails.',
  'wr.refs.memory_query':
    'Where you have a memory that outlives this task, look there for what is known of it already. Go on where that fails.',
  'wr.refs.notes_first_durability':
    'The notes that complete a step, and the variables that it sets, are what lasts: put every finding and every decision there, with its reason. Files for people to read are an extra, never the only place.',
  'wr.refs.synthesis_under_disagreement':
    'Where results of parallel work contradict each other, settle it openly. What two of them raise counts. Of two severities the higher one counts, unless there is evidence against it. What only one raises is looked into, not adopted. Note for each contradiction how it was settled and why.',
  'wr.refs.parallelize_cognition_serialize_synthesis':
    'Let independent thinking happen side by side, each part with a focus of its own; bring the results together yourself, one after the other. Nobody you hand work to decides on the final answer.',
  'wr.refs.adversarial_challenge_rules':
    'Try to break the leading answer: make the strongest case for another one, ask what would disprove each finding, and look whether that is there. What breaks is put down as a finding and changes the answer; what holds is the stronger for it. Rate severity by risk, neither softer nor harsher.',
};

export interface FeatureText {
  readonly constraints?: readonly string[];
  readonly procedure?: readonly string[];
  readonly verify?: readonly string[];
}

/** What a feature adds to every step with prompt blocks. */
export const FEATURES: Readonly<Record<string, FeatureText>> = {
  'wr.features.memory_context': { constraints: [REFS['wr.refs.memory_usage'] ?? ''] },
  'wr.features.capabilities': {
    constraints: [
      'Rely on an optional ability (handing work to others, the web, …) only after you have tried it here.',
      'Where one is missing, say so and go another way.',
    ],
    procedure: [
      'Note what you tried where you depend on such an ability, and why going without is enough where you do not use it.',
    ],
    verify: ['Every optional ability that was used had been tried, and every way round one is written down.'],
  },
  'wr.features.subagent_guidance': {
    constraints: [
      'You own strategy, decisions and the final result; whoever you hand work to gives you another view, and nothing more.',
      REFS['wr.refs.parallelize_cognition_serialize_synthesis'] ?? '',
    ],
    procedure: [
      'Give each one a focus of its own and the same facts; bring their results together yourself.',
    ],
    verify: ['No result of theirs was taken over without your judgement.'],
  },
};
