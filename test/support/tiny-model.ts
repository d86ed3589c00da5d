import { seeded } from './seeded.ts'

const MAGIC = 'GGUF'
const VERSION = 3
const ALIGNMENT = 32
const TYPE = { uint32: 4, int32: 5, float32: 6, string: 8, array: 9 } as const
const FLOATS = 0

/** A sentencepiece vocabulary: three special tokens, all bytes, and a few words. */
const TOKEN = { normal: 1, unknown: 2, control: 3, byte: 6 } as const
const SPECIAL = ['<unk>', '<s>', '</s>']
const BYTES = Array.from(
  { length: 256 },
  (_, byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, '0')}>`,
)
const WORDS = [
  '▁',
  ...'abcdefghijklmnopqrstuvwxyz'.split(''),
  ...'the of and light over water stone is was blue'.split(' ').map(word => `▁${word}`),
]
const VOCABULARY = [...SPECIAL, ...BYTES, ...WORDS, '<tool_call>']
const CALL = VOCABULARY.length - 1
const byteToken = (byte: string): number => SPECIAL.length + byte.charCodeAt(0)
const NEWLINE = byteToken('\n')
const AVOIDED: ReadonlySet<number> = new Set([CALL, ...[' ', '\t', '\r', '\n'].map(byteToken)])

/** As that of Qwen 2.5, in short. */
const TEMPLATE = `{%- if tools %}<|im_start|>system
You may call functions: <tools>
{%- for tool in tools %}
{{ tool | tojson }}
{%- endfor %}
</tools>
For each call, give a JSON object with its name and arguments: <tool_call>
{"name": "a-name", "arguments": {}}
</tool_call><|im_end|>
{% endif %}
{%- for message in messages %}
{%- if message.role == "tool" %}<|im_start|>user
<tool_response>
{{ message.content }}
</tool_response><|im_end|>
{% elif message.tool_calls %}<|im_start|>assistant
{%- if message.content %}
{{ message.content }}
{%- endif %}
{%- for call in message.tool_calls %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>
{%- endfor %}<|im_end|>
{% else %}<|im_start|>{{ message.role }}
{{ message.content }}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant{{ "\\n" if tools else ":" }}{% endif %}`

const WIDTH = 64
const LAYERS = 2
const HEADS = 4
const INNER_WIDTH = 128
const CONTEXT = 4_096

/**
 * A language model of 130,000 random weights in the format GGUF, of the architecture of Llama: what it says means nothing, and is the
 * same at each time for the same question at temperature 0.
 */
export function tinyModel(): Buffer {
  const random = seeded(7)
  const ones = (): Float32Array => new Float32Array(WIDTH).fill(1)
  const weights = (count: number): Float32Array =>
    Float32Array.from({ length: count }, () => (random() - 0.5) / 4)
  const tensors: Tensor[] = []
  const matrix = (name: string, inputs: number, outputs: number): void =>
    void tensors.push({ name, shape: [inputs, outputs], values: weights(inputs * outputs) })
  const norm = (name: string): void => void tensors.push({ name, shape: [WIDTH], values: ones() })
  matrix('token_embd.weight', WIDTH, VOCABULARY.length)
  matrix('output.weight', WIDTH, VOCABULARY.length)
  const [embedding, output] = tensors.map(({ values }) => values)
  if (!embedding || !output) throw new Error('the model has no vocabulary')
  // It speaks in words: a byte may be half a character, and how long it speaks is up to the caller.
  output.fill(0, 0, WIDTH * (SPECIAL.length + BYTES.length))
  // What it says depends on the last token most: after a newline, with which the template ends for functions, it begins a call.
  const follow = (last: number, next: number): void =>
    embedding
      .subarray(WIDTH * last, WIDTH * (last + 1))
      .forEach((weight, at) => void (output[WIDTH * next + at] = weight))
  follow(NEWLINE, CALL)
  follow(CALL, NEWLINE)
  // A first weight that is the same everywhere lets it avoid calls elsewhere, and blanks, of which a grammar takes any number.
  for (let id = 0; id < VOCABULARY.length; id++) {
    embedding[WIDTH * id] = 1 / 8
    output[WIDTH * id] = AVOIDED.has(id) ? -1 / 2 : 0
  }
  embedding.forEach((weight, at) => void (embedding[at] = weight * 8))
  norm('output_norm.weight')
  for (let layer = 0; layer < LAYERS; layer++) {
    const at = `blk.${layer}.`
    norm(`${at}attn_norm.weight`)
    norm(`${at}ffn_norm.weight`)
    for (const name of ['attn_q', 'attn_k', 'attn_v', 'attn_output'])
      matrix(`${at}${name}.weight`, WIDTH, WIDTH)
    for (const name of ['ffn_gate', 'ffn_up']) matrix(`${at}${name}.weight`, WIDTH, INNER_WIDTH)
    matrix(`${at}ffn_down.weight`, INNER_WIDTH, WIDTH)
  }
  const types = VOCABULARY.map((_, id) => {
    if (id < SPECIAL.length) return id === 0 ? TOKEN.unknown : TOKEN.control
    return id < SPECIAL.length + BYTES.length ? TOKEN.byte : TOKEN.normal
  })
  const fields: readonly Buffer[] = [
    text('general.architecture', 'llama'),
    text('general.name', 'tiny'),
    number('llama.context_length', CONTEXT),
    number('llama.embedding_length', WIDTH),
    number('llama.block_count', LAYERS),
    number('llama.feed_forward_length', INNER_WIDTH),
    number('llama.attention.head_count', HEADS),
    number('llama.rope.dimension_count', WIDTH / HEADS),
    number('llama.vocab_size', VOCABULARY.length),
    field('llama.attention.layer_norm_rms_epsilon', TYPE.float32, float(1e-5)),
    text('tokenizer.chat_template', TEMPLATE),
    text('tokenizer.ggml.model', 'llama'),
    array('tokenizer.ggml.tokens', TYPE.string, VOCABULARY.map(string)),
    // Longer words win over their letters.
    array(
      'tokenizer.ggml.scores',
      TYPE.float32,
      VOCABULARY.map((_, id) => float(types[id] === TOKEN.normal ? id : 0)),
    ),
    array('tokenizer.ggml.token_type', TYPE.int32, types.map(uint32)),
    number('tokenizer.ggml.unknown_token_id', 0),
    number('tokenizer.ggml.bos_token_id', 1),
    number('tokenizer.ggml.eos_token_id', 2),
  ]
  return file(fields, tensors)
}

interface Tensor {
  readonly name: string
  /** The first dimension is that of neighbours. */
  readonly shape: readonly number[]
  readonly values: Float32Array
}

function file(fields: readonly Buffer[], tensors: readonly Tensor[]): Buffer {
  let offset = 0
  const heads: Buffer[] = []
  const bodies: Buffer[] = []
  for (const { name, shape, values } of tensors) {
    heads.push(string(name), uint32(shape.length), ...shape.map(uint64), uint32(FLOATS), uint64(offset))
    const bytes = aligned(Buffer.from(values.buffer))
    bodies.push(bytes)
    offset += bytes.length
  }
  const counts = [uint64(tensors.length), uint64(fields.length)]
  const head = Buffer.concat([Buffer.from(MAGIC), uint32(VERSION), ...counts, ...fields, ...heads])
  return Buffer.concat([aligned(head), ...bodies])
}

function aligned(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((ALIGNMENT - (bytes.length % ALIGNMENT)) % ALIGNMENT)])
}

function field(name: string, type: number, value: Buffer): Buffer {
  return Buffer.concat([string(name), uint32(type), value])
}

function number(name: string, value: number): Buffer {
  return field(name, TYPE.uint32, uint32(value))
}

function text(name: string, value: string): Buffer {
  return field(name, TYPE.string, string(value))
}

function array(name: string, type: number, values: readonly Buffer[]): Buffer {
  return field(name, TYPE.array, Buffer.concat([uint32(type), uint64(values.length), ...values]))
}

function string(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([uint64(bytes.length), bytes])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function uint64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

function float(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeFloatLE(value)
  return bytes
}
