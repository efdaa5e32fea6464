# One static binary in an otherwise empty image.
FROM golang:1.26-bookworm AS build
# The toolchain that go.mod names, which the image need not have yet.
ENV GOTOOLCHAIN=auto
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-s -w" -o /out/agentlink ./node/cmd/agentlink \
 && mkdir -p /out/layout/data && chmod 0700 /out/layout/data

FROM scratch
COPY --from=build /etc/ssl/certs/ca-certificates.crt /etc/ssl/certs/ca-certificates.crt
COPY --from=build /usr/local/go/lib/time/zoneinfo.zip /zoneinfo.zip
COPY --from=build /out/agentlink /usr/local/bin/agentlink
# The folder comes along as content, and so keeps its mode: nobody else reads it.
COPY --from=build --chown=65532:65532 /out/layout/ /
ENV PATH=/usr/local/bin \
    ZONEINFO=/zoneinfo.zip \
    AGENTLINK_DATA_DIR=/data \
    AGENTLINK_LISTEN=0.0.0.0:7410
USER 65532:65532
VOLUME /data
EXPOSE 7410 7411
HEALTHCHECK --interval=10s --timeout=5s --start-period=10s CMD ["agentlink", "status"]
ENTRYPOINT ["agentlink"]
CMD ["serve"]
