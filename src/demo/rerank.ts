import { type DemoAnswer, DemoFault, type DemoScene, type Fields, isFields, modelOf } from './answer.ts'
import { tokens } from './conversation.ts'
import { cosine, embed } from './embeddings.ts'

/** Common words of query and document determine the score; more dimensions reduce collisions of other words. */
const DIMENSIONS = 512
/** Cohere bills one search unit for up to this many documents (docs.cohere.com, "Rerank pricing"). */
const DOCUMENTS_PER_SEARCH_UNIT = 100

/** `POST /v1/rerank`: the fields that Cohere and Jina have in common, with the usage of both. */
export function rerank(body: Fields, scene: DemoScene): DemoAnswer {
  const model = modelOf(body)
  const query = body['query']
  if (typeof query !== 'string') throw new DemoFault(400, "'query' must be a text", 'query')
  const documents = readDocuments(body['documents'])
  const top = typeof body['top_n'] === 'number' ? body['top_n'] : documents.length
  const wanted = embed(query, DIMENSIONS)
  const results = documents
    .map((text, index) => {
      const relevance = Math.max(0, cosine(wanted, embed(text, DIMENSIONS)))
      const document = body['return_documents'] === true ? { document: { text } } : {}
      return { index, relevance_score: Number(relevance.toFixed(6)), ...document }
    })
    .sort((a, b) => b.relevance_score - a.relevance_score || a.index - b.index)
    .slice(0, Math.max(0, top))
  const count = tokens([query, ...documents].join(''))
  const units = Math.ceil(documents.length / DOCUMENTS_PER_SEARCH_UNIT)
  return {
    kind: 'json',
    body: {
      id: scene.id('rerank-'),
      model,
      results,
      usage: { prompt_tokens: count, total_tokens: count },
      meta: { billed_units: { search_units: units } },
    },
  }
}

function readDocuments(documents: unknown): string[] {
  if (!Array.isArray(documents) || documents.length === 0) {
    throw new DemoFault(400, "'documents' must be a list of at least one document", 'documents')
  }
  return documents.map(document => {
    if (typeof document === 'string') return document
    if (isFields(document) && typeof document['text'] === 'string') return document['text']
    throw new DemoFault(400, 'a document must be a text, or an object with `text`', 'documents')
  })
}
